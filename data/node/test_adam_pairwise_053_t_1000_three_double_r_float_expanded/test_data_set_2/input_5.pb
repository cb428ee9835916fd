BG1JPFxпl€A
­ЪЫv}8A