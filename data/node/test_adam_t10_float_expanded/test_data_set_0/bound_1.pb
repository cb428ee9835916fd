BV_newJ M
j*}‰>èÀ˜¹"c>Ú_†@JšU>:^…t‡n>