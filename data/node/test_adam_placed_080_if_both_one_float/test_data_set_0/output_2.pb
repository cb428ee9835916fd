BH_new_negativeJğUÀ?e3ÀÏ¦Àª€¿¿BƒÀ
³¿