BV1_newJPFxпl€A
­ЪЫv}8A