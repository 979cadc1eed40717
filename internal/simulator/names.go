package simulator

// Some names of places and people contain characters that careless programs get wrong: apostrophes, quotation marks,
// letters beyond ASCII and a character beyond the BMP.
var (
	places = [...]string{
		"Maple Grove", "Riverside", "Oak Hill", "Cedar Ridge", "Lakeview", "Prairie Wind", "Coteau", "St. Mary's", "Niños Héroes",
		"Fox Hollow", "Summit", "Elk Creek", "Harriet Tubman", "Jean Baptiste Point du Sable", "Cottonwood", "Red Rock", "Bluestem",
		"Sandhill", "Pheasant Run", "Willow Bend", "Garden City", "Northgate", "Old Mill", "Sunrise", "Kōkako", "Meadowlark",
		"Stonebridge", "Thunder Butte", "Whispering Pines", "Arbor Day", "César Chávez",
	}
	districtSuffixes = [...]string{" Unified School District", " Public Schools", " Independent School District", " Community Schools"}
	schoolLevels     = [...]struct {
		suffix          string
		lowest, highest int
	}{
		{" Elementary School", 0, 5},
		{" Elementary", 0, 5},
		{" Middle School", 6, 8},
		{" High School", 9, 12},
		{" Academy", 0, 8},
	}
	firstNames = [...]string{
		"Olivia", "Liam", "Emma", "Noah", "Amélie", "Mateo", "Sofía", "Elijah", "Ava", "Lucas", "Zoë", "Ethan", "Mia", "Aiden",
		"Isabella", "Jackson", "Camila", "José", "Luna", "Omar", "Aaliyah", "Đorđe", "Chloë", "Kai", "Nia", "Søren", "Priya",
		"Mei", "Ji-woo", "Tadeusz", "Fatima", "Diego", "Hannah", "Samuel \"Sam\"", "Ruth", "Björn", "Imani", "Levi", "Anaïs", "Wyatt",
	}
	middleNames = [...]string{"Ann", "Lee", "Marie", "James", "Rae", "T.", "Inés", "Alexander", "Grace", "De'Andre"}
	lastNames   = [...]string{
		"Smith", "Johnson", "Garcia", "Peña", "O'Brien", "Nguyen", "Müller", "Thompson-Reyes", "de la Cruz", "Okafor", "Kowalska",
		"Begay", "Running Bear", "Lindqvist", "D'Angelo", "Hernández", "Li", "Zhang", "Patel", "Al-Sayed", "Jones", "Brown", "Davis",
		"Wilson", "Anderson", "Martín", "St. John", "Nakamura", "𠮷野", "Ivanov", "Tran", "Kim", "Wójcik", "Sánchez", "Moore", "Young",
		"King", "Wright", "Lopez", "Hill",
	}
	// gradeNames is indexed by grade, 0 for kindergarten.
	gradeNames = [...]string{"K", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}
)
