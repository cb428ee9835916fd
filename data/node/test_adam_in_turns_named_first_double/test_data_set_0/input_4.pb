BHJ z|ãy 
@Ô«¿ ŒKò?ØÆV¿c¢ß?G|UIþ?