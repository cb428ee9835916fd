BV_new_twin_sameJ0<þO¾á>ã
‘}éý†>\KF¢C>ŠLËÅËr>‘ZFÕ§†>Ä~Õçz:~>