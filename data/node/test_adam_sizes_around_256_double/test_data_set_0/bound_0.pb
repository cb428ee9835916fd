B	X1_new_atJ`oÚéÖ÷ØZ>oÚéÖ÷ØZ>xöˆÓ3`>¦­
t!V>B=ÛòIB>Z± æ¢§L>‹éA‰ž>ÏXEPcì#>FºÉéX>„¹4aÔf>§¥°×çX>‘âp—P>