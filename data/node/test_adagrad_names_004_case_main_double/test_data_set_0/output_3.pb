BABcDefghijklmnopJ 8W„™@š–€NL%@ì–`B@ìDšM
@