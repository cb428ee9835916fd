BH_newJ jœXª—ı?XtÀr˜Ûô?¤[0
"A@oÓì˜%j
@