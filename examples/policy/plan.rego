# What no change may do without somebody's word, beside what pouch itself holds:
#
#     pouch plan -o json > plan.json
#     conftest test --policy examples/policy plan.json
#
# The two values below are made up: put in your own.
package main

# So many objects may leave a region at once.
most_withdrawn := 5

# Regions that are not for everybody, and the namespaces whose Credentials may be there.
reserved := {"prod": {"payments", "platform"}}

# A plan that ended early, or another file, says nothing of what would change.
deny contains "this is no complete plan: make it by `pouch plan -o json`" if not is_plan

deny contains message if {
	some region in input.regions
	some recipient in region.recipientsAdded
	message := sprintf("region %s: %s could read it", [region.name, recipient])
}

deny contains message if {
	some region in input.regions
	withdrawn := count([1 | some change in region.changes; change.action == "withdrawn"])
	withdrawn > most_withdrawn
	message := sprintf("region %s: %d objects would be withdrawn, more than %d", [region.name, withdrawn, most_withdrawn])
}

deny contains message if {
	some region in input.regions
	some credential in users(region)
	namespace := split(credential, "/")[0]
	not namespace in reserved[region.name]
	message := sprintf("region %s: %s is of a namespace that may not be there", [region.name, credential])
}

deny contains message if {
	some region in input.regions
	some hold in region.holds
	message := sprintf("region %s: held, %s", [region.name, hold.code])
}

is_plan if {
	[input.apiVersion, input.kind, input.command] == ["pouch/v1alpha2", "Summary", "plan"]
	input.exitCode in {0, 2}
	count(input.regions) > 0
}

# The Credentials that get something in a reserved region, or come to share what is there.
users(region) := gets | joins if {
	reserved[region.name]
	gets := {user | some change in region.changes; change.action != "withdrawn"; some user in change.credentials}
	joins := {user | some sharing in region.sharings; some user in sharing.joined}
}
