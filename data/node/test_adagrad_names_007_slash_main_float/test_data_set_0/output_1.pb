Bvalue/H_newJÛ¿*@4:>@ŸÑ@Ž„
@