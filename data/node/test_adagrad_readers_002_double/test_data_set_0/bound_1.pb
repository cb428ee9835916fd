B
H_new_noneJ0öŽC/è<iÐ(T¯Æ<ÝHò¨ÜÏ<êEæ†ë<Ò<ê)QlÚAÒ<Òêxxî<