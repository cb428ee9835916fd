BX_newJ ÷2úxl{h>s‚®…s>•;
­%9f>kåMÔïÓt>