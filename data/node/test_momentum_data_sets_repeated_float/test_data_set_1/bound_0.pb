BX_newJ 
ŒM+=„>PƒDS.¡>òC7aË?š>ý­B˜`"a>