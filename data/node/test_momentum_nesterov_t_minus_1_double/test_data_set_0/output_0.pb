BX_newJ 6nùõÃä¿à3VN2<H¿y°w0
õ¿|âGÊiü?