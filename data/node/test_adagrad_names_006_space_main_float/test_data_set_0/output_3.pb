Bvalue H2_newJล@=
@๊ý@%จร@