BV_new_XV_zeroJ †Æ°õ¦ê?0Á¦
•Xç?`ËçXå¿kl{_—ð?