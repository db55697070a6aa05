package proof

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"sort"
	"strings"
	"sync"
)

// Tags that whatever a run makes has.
const (
	TagRun   = "joiner.sh/proof"       // the run's id
	TagOwner = "joiner.sh/proof-owner" // who ran it
	// TagCluster, on a role, names the cluster that it has an access entry in.
	TagCluster = "joiner.sh/proof-cluster"
)

// Prefix begins the names of all that a run makes.
const Prefix = "joiner-proof-"

// Path is the path of roles and instance profiles, and begins the names of parameters.
const Path = "/joiner-proof/"

// What stands in a record in the place of what is nobody's business.
const (
	scrubbedAccount = "000000000000"
	scrubbedAddress = "192.0.2.1" // of a range for documentation, RFC 5737
	scrubbedSecret  = "SCRUBBED"
	// Of a range for documentation, RFC 3849.
	scrubbedAddress6 = "2001:db8::1"
)

// secrets are replaced whole. Each has the text before in its first group, and the text after in its last.
var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(<(?:SecretAccessKey|SessionToken)>)[^<]*(</)`),
	regexp.MustCompile(`(Encoded authorization failure message: )[\w-]+()`),
	regexp.MustCompile(`("data"\s*:\s*")LS0t[^"]*(")`), // a certificate authority of EKS
	regexp.MustCompile(`(<(?:requestId|RequestId|RequestID|HostId)>)[^<]*(</)`),
	regexp.MustCompile(`(X-Amz-(?:Signature|Credential|Security-Token|Date)=)[^&"\s<]*()`),
	regexp.MustCompile(`(k8s-aws-v1\.)[\w-]+()`),
	regexp.MustCompile(`(<DecodedMessage>)[^<]*(</)`),
}

var (
	accessKey    = regexp.MustCompile(`\b(AKIA|ASIA|AROA|AIDA|AIPA|ANPA|ASCA|AGPA)[A-Z0-9]{12,}\b`)
	address      = regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}\b`)
	addressName  = regexp.MustCompile(`\b(ip|ec2)-(?:\d{1,3}-){3}\d{1,3}\b`)
	address6     = regexp.MustCompile(`[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}`) // what may be one
	mac          = regexp.MustCompile(`\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b`)
	clusterHost  = regexp.MustCompile(`\b[0-9A-F]{32}\.[\w.-]+\.eks\.amazonaws\.com(?:\.cn)?\b`)
	loopback     = regexp.MustCompile(`\b127\.0\.0\.1:\d+\b`)
	resourceID   = regexp.MustCompile(`\b(vpc|subnet|sg|eni|vol|cr|i|lt|r|sir|rtb|eigw|eipassoc|aclassoc|eni-attach)-[0-9a-f]{8,17}\b`)
	fleetID      = regexp.MustCompile(`\bfleet-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	twelveDigits = regexp.MustCompile(`\b\d{12}\b`)
)

// Scrubber takes out of a text who and where it is from. What is equal stays equal: an id becomes the same id wherever it
// stands. It is safe for concurrent use.
type Scrubber struct {
	mu       sync.Mutex
	literals map[string]string
	ids      map[string]string
	counts   map[string]int
}

// NewScrubber returns a scrubber that knows what to look for in any text.
func NewScrubber() *Scrubber {
	return &Scrubber{literals: map[string]string{}, ids: map[string]string{}, counts: map[string]int{}}
}

// Hide has a text replaced by another one. An empty text is none.
func (s *Scrubber) Hide(text, by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != "" && text != by {
		s.literals[text], s.literals[url.QueryEscape(text)] = by, url.QueryEscape(by)
	}
}

// Text returns a text without what is nobody's business: account ids, keys, tokens, signatures, request ids, addresses, and what
// Hide was given. Ids of resources become ids counted from one.
func (s *Scrubber) Text(text string) string {
	if text == "" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, old := range longestFirst(s.literals) {
		text = strings.ReplaceAll(text, old, s.literals[old])
	}
	for _, re := range secrets {
		text = re.ReplaceAllString(text, "${1}"+scrubbedSecret+"${2}")
	}
	text = accessKey.ReplaceAllStringFunc(text, func(key string) string { return s.id(key[:4], key, "%s%016d") })
	text = fleetID.ReplaceAllStringFunc(text, func(id string) string { return s.id("fleet", id, "%s-%08x-0000-0000-0000-000000000000") })
	text = resourceID.ReplaceAllStringFunc(text, func(id string) string {
		return s.id(id[:strings.LastIndexByte(id, '-')], id, "%s-%017x")
	})
	text = loopback.ReplaceAllString(text, "localhost")
	text = clusterHost.ReplaceAllString(text, "cluster.eks.invalid")
	text = mac.ReplaceAllString(text, "02:00:00:00:00:01")
	text = address.ReplaceAllString(text, scrubbedAddress)
	text = addressName.ReplaceAllString(text, "${1}-"+strings.ReplaceAll(scrubbedAddress, ".", "-"))
	text = address6.ReplaceAllStringFunc(text, func(word string) string {
		if a, err := netip.ParseAddr(word); err == nil && a.Is6() && word != "::" {
			return scrubbedAddress6
		}
		return word
	})
	return twelveDigits.ReplaceAllStringFunc(text, func(id string) string {
		if id == scrubbedAccount || strings.HasPrefix(id, "1000000") {
			return id
		}
		return s.id("1", id, "%s%011d")
	})
}

// id returns what stands for an id. The lock is held.
func (s *Scrubber) id(kind, id, format string) string {
	for _, known := range s.ids {
		if known == id { // scrubbed already
			return id
		}
	}
	by, ok := s.ids[id]
	if !ok {
		s.counts[kind]++
		by = fmt.Sprintf(format, kind, s.counts[kind])
		s.ids[id] = by
	}
	return by
}

func longestFirst(m map[string]string) []string {
	var out []string
	for text := range m {
		out = append(out, text)
	}
	sort.Slice(out, func(i, j int) bool {
		return len(out[i]) > len(out[j]) || len(out[i]) == len(out[j]) && out[i] < out[j]
	})
	return out
}

// Leaks returns what of a scrubbed text looks as if it should not be there: for those who want to be sure before they send it.
func Leaks(text string) []string {
	var out []string
	for _, found := range twelveDigits.FindAllString(text, -1) {
		if found != scrubbedAccount && !strings.HasPrefix(found, "1000000") {
			out = append(out, "account "+found)
		}
	}
	for _, found := range accessKey.FindAllString(text, -1) {
		if !strings.HasPrefix(found[4:], "00000000") {
			out = append(out, "key "+found)
		}
	}
	for _, found := range address.FindAllString(text, -1) {
		if found != scrubbedAddress {
			out = append(out, "address "+found)
		}
	}
	return out
}

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
