Bvalue H2J кЌhЌИ
@§syH+л?ƒ\ЩEђых?t–HЭ@