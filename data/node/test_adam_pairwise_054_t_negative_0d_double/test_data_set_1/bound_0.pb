BX_newJüË
áWK²<