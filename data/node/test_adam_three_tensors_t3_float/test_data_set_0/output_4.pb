BV2_newJOG_¾2ë¼
¸c>