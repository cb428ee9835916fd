BX2_newJÜÌKÌ3
§>FwÆ~Š>