BH_newJ kg%wÐº<üEÎx ùÁ<_/·ˆf(Ö<ð
w^K¶¾<