BH_newJk±¨?õ
@