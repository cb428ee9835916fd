B
H_second_TJé5@¼Q’?èÏ\@»@