BX3_newJTOúØy!ÁûÁV
&ÁJQç{î;A