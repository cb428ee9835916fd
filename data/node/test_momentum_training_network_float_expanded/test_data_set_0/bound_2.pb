BB1_newJ ¡K¯| ƒy>O
%æb>G'‹?‰>u
`èK­ˆ>