package proof

import (
	"encoding/json"
	"regexp"
	"strings"
)

// What some answers have beside what probes look at is the account's own business: names, tags and rules of its network, its tables, its
// cluster. A record does not have it.

// ownWords are elements of XML that a record leaves empty.
var ownWords = regexp.MustCompile(`(?s)<(tagSet|ipPermissions|ipPermissionsEgress)>.*?</(?:tagSet|ipPermissions|ipPermissionsEgress)>`)

var (
	ownDescription = regexp.MustCompile(`<groupDescription>[^<]*</groupDescription>`)
	ownGroup       = regexp.MustCompile(`<groupName>[^<]*</groupName>`)
	ownReservation = regexp.MustCompile(`(?s)<capacityReservationId>.*?</tagSet>`)
	ownOwner       = regexp.MustCompile(`(?s)<Owner>.*?</Owner>`)
)

// reduced returns an answer without what is the account's own business.
func reduced(service, action, answer string) string {
	switch service + ":" + action {
	case "ec2:DescribeSubnets", "ec2:DescribeSecurityGroups":
		answer = ownWords.ReplaceAllString(answer, "<$1/>")
		answer = ownDescription.ReplaceAllString(answer, "<groupDescription/>")
		return ownGroup.ReplaceAllStringFunc(answer, func(name string) string {
			if name == "<groupName>default</groupName>" {
				return name
			}
			return "<groupName>group</groupName>"
		})
	case "ec2:DescribeCapacityReservations":
		return ownReservation.ReplaceAllStringFunc(answer, func(item string) string {
			if strings.Contains(item, TagRun) {
				return item
			}
			return ownWords.ReplaceAllString(item, "<$1/>")
		})
	case "s3:ListBuckets":
		return ownOwner.ReplaceAllString(answer, "")
	case "dynamodb:ListTables":
		return onlyOwn(answer, "TableNames", func(name string) bool { return strings.HasPrefix(name, Prefix) })
	case "eks:ListAccessEntries":
		return onlyOwn(answer, "accessEntries", func(arn string) bool { return strings.Contains(arn, ":role"+Path) })
	case "eks:DescribeCluster":
		return onlyMembers(answer, "cluster", "endpoint", "certificateAuthority", "status", "version", "accessConfig")
	}
	return answer
}

// onlyOwn keeps of a list of texts in a document what is the run's. A document of another shape stays as it is.
func onlyOwn(document, list string, own func(string) bool) string {
	var all map[string]json.RawMessage
	var names []string
	if json.Unmarshal([]byte(document), &all) != nil || json.Unmarshal(all[list], &names) != nil {
		return document
	}
	kept := []string{}
	for _, name := range names {
		if own(name) {
			kept = append(kept, name)
		}
	}
	return encoded(all, list, kept, document)
}

// onlyMembers keeps some members of an object in a document.
func onlyMembers(document, object string, members ...string) string {
	var all, whole map[string]json.RawMessage
	if json.Unmarshal([]byte(document), &all) != nil || json.Unmarshal(all[object], &whole) != nil {
		return document
	}
	kept := map[string]json.RawMessage{}
	for _, member := range members {
		if value, ok := whole[member]; ok {
			kept[member] = value
		}
	}
	return encoded(all, object, kept, document)
}

func encoded(all map[string]json.RawMessage, member string, value any, otherwise string) string {
	text, err := json.Marshal(value)
	if err != nil {
		return otherwise
	}
	all[member] = text
	if text, err = json.Marshal(all); err != nil {
		return otherwise
	}
	return string(text)
}
