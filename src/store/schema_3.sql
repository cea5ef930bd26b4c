-- Which walls stood around native commands, where a call had any.
ALTER TABLE audit ADD COLUMN walls TEXT;
