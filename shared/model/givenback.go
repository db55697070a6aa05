package model

import (
	"fmt"
	"regexp"
	"strconv"
)

// GivenBack says on a NodeClaim that its node is given back by a command: how many nodes the command has, and how many machines
// take their place.
func GivenBack(command string, nodes, replacements int) string {
	return fmt.Sprintf("the node is given back by command %s (%d for %d)", command, nodes, replacements)
}

var givenBack = regexp.MustCompile(`^the node is given back by command (\S+) \((\d+) for (\d+)\)`)

// ReadGivenBack reads what begins with a text of GivenBack; not ok for any other.
func ReadGivenBack(text string) (command string, nodes, replacements int, ok bool) {
	match := givenBack.FindStringSubmatch(text)
	if match == nil {
		return "", 0, 0, false
	}
	nodes, err := strconv.Atoi(match[2])
	if err != nil {
		return "", 0, 0, false
	}
	replacements, err = strconv.Atoi(match[3])
	return match[1], nodes, replacements, err == nil
}
