BH1_newJlpE∂©ı«;Cc;D?∆<ÿúÇâ
Ö—=