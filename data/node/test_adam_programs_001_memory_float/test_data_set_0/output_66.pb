B
H_second_RJé5@¼Q’?èÏ\@»@