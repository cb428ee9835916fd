BXJ pÙX9ð}å¿°Ù½lnðÌ¿Êuû«¹sø?
ZNCV-þ¿