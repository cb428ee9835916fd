BX_shared_readJ>ÔX?Ì©
¿µ?ý3ï¿