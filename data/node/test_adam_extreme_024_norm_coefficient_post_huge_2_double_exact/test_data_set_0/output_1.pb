BV_newJ ¨cŠ"Ä¿®ìoÝyºÒ?BDL
Ò¿w¢ê*½yæ¿