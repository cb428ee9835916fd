B
H_second_VJé5@¼Q’?èÏ\@»@