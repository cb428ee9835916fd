BX_new_shared_twice_2J NGô—>ðK*oˆ6u>¥ß~¼õ¬…>\~DY
,q>