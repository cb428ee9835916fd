BX_newJúý
µÁG>ŽWÜ5¾ Q>ÂJŠ7ˆG>