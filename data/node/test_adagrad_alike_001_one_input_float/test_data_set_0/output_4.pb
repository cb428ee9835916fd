BX_new_RJ¨eò?â6!>
‚T@Ãb<@