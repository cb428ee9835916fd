BX10_newJ
«e{íÀ>