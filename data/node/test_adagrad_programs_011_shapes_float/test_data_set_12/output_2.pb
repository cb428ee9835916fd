BH_new_shapes_1JŸÊ¯?Ý
@Fê?F@	 T?[¤?