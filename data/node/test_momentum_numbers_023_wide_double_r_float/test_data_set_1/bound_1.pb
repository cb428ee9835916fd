BV_newJ ZÀ%ÆVö…<ãd9h9¢¬<‘6µäñØÕ<
eÁAUﬂ«<