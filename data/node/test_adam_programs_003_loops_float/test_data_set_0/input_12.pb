B
V_negativeJΣϊ=Ύ”r?Εν[?Ϋά?