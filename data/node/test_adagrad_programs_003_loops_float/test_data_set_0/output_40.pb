B
G_now_keptJЁ/ц©Б∙╪©Чое?┐c©