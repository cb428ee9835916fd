B
V_negativeJëø?~Føbü0=ı§<