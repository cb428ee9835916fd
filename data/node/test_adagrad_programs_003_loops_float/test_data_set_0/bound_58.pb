BX_spentJ EËùÞØ€>šKroéõd>f
‹¯>;pŸ£Ê4‘>