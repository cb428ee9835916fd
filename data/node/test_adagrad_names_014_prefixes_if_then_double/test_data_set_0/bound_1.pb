BvvvvvvvvvvvvvvvvvvvJ <guG°<Àâh*¹ÃÈ<(Í¿ñ
eÊ<Èóä.þQË<