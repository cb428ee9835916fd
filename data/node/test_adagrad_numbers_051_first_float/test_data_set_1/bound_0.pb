BX_newJ £ÉE^©2=n¼?T£Ð=@Ñ}BS¿=¼ŠlYÑ
=