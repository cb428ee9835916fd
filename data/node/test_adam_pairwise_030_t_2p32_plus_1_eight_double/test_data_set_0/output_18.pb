BH3_newJЄ€±.‚W{BэЖ_?њrЃB_ЃnТв
B