BaBcDefghijklmnopJ ֵ1טוi@·h›תR@	Z8/ִר
@¦¶ÊA–N!@