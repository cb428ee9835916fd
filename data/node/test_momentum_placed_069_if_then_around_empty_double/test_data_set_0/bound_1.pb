BX1_new_later_ifJ rææÿY?¶<Û
kvæÊ<æÒË1„Zä<ÄaPË<