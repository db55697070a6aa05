package wire

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Pods lie in columns, so that like lies beside like: count, namespaces as runs, names by what they do not share with
// the name before, UIDs, shape numbers, node numbers over a table of node names, flags, and times relative to each
// other. Optional fields have entries only for the pods whose flags say so.
const (
	flagPhase         = 0b11 // the two lowest bits are the phase
	flagUnschedulable = 1 << 2
	flagReady         = 1 << 3
	flagStarted       = 1 << 4
	flagDeleted       = 1 << 5
	flagNominated     = 1 << 6
	flagClaims        = 1 << 7
)

// UIDs are either all 16 bytes, when every one is a UUID in its usual spelling, or texts.
const (
	uidsBinary = 0
	uidsText   = 1
)

const uuidText = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"

func appendPods(out []byte, pods []model.Pod) ([]byte, error) {
	out = binary.AppendUvarint(out, uint64(len(pods)))
	if len(pods) == 0 {
		return out, nil
	}
	for i := range pods {
		if err := encodable(&pods[i]); err != nil {
			return nil, err
		}
	}
	out = appendNamespaces(out, pods)
	out = appendNames(out, pods)
	out = appendUIDs(out, pods)
	for i := range pods {
		out = binary.AppendUvarint(out, uint64(pods[i].Shape))
	}
	out = appendNodes(out, pods)
	for i := range pods {
		out = append(out, flagsOf(&pods[i]))
	}
	return appendOptional(out, pods), nil
}

// encodable refuses what the reader would.
func encodable(p *model.Pod) error {
	long := len(p.Namespace) > maxNamespaceBytes || len(p.Name) > maxNameBytes || len(p.UID) > maxUIDBytes ||
		len(p.NodeName) > maxNameBytes || len(p.NominatedNode) > maxNameBytes || len(p.Claims) > maxClaims
	for _, claim := range p.Claims {
		long = long || len(claim) > maxClaimBytes
	}
	if long {
		return fault.New(fault.Invalid, "TooLarge",
			"pod %.320q has a name, UID or volume claim that is too long", p.Key())
	}
	if p.Buffer != "" {
		return fault.New(fault.Invalid, "Malformed",
			"%s is headroom of CapacityBuffer %s and no pod: published snapshots hold pods only", p.Key(), p.Buffer)
	}
	if p.Phase > model.Failed {
		return fault.New(fault.Invalid, "Malformed", "pod %s has the unknown phase %d", p.Key(), p.Phase)
	}
	return nil
}

func flagsOf(p *model.Pod) byte {
	flags := byte(p.Phase)
	set := func(on bool, flag byte) {
		if on {
			flags |= flag
		}
	}
	set(p.Unschedulable, flagUnschedulable)
	set(p.Ready, flagReady)
	set(p.StartedUnix != 0, flagStarted)
	set(p.DeletedUnix != 0, flagDeleted)
	set(p.NominatedNode != "", flagNominated)
	set(len(p.Claims) > 0, flagClaims)
	return flags
}

func appendText(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

func appendNamespaces(out []byte, pods []model.Pod) []byte {
	var runs []byte
	count := 0
	for i := 0; i < len(pods); {
		end := i + 1
		for end < len(pods) && pods[end].Namespace == pods[i].Namespace {
			end++
		}
		runs = binary.AppendUvarint(appendText(runs, pods[i].Namespace), uint64(end-i))
		count++
		i = end
	}
	return append(binary.AppendUvarint(out, uint64(count)), runs...)
}

func appendNames(out []byte, pods []model.Pod) []byte {
	var suffixes []byte
	before := ""
	for i := range pods {
		name, shared := pods[i].Name, 0
		for shared < min(len(name), len(before)) && name[shared] == before[shared] {
			shared++
		}
		out = binary.AppendUvarint(out, uint64(shared))
		suffixes = appendText(suffixes, name[shared:])
		before = name
	}
	return append(out, suffixes...)
}

func appendUIDs(out []byte, pods []model.Pod) []byte {
	start := len(out)
	out = append(out, uidsBinary)
	for i := range pods {
		raw, ok := parseUUID(pods[i].UID)
		if !ok {
			out = append(out[:start], uidsText)
			for j := range pods {
				out = appendText(out, pods[j].UID)
			}
			return out
		}
		out = append(out, raw[:]...)
	}
	return out
}

// parseUUID returns the bytes of a UUID in lower-case canonical spelling, and false for any other text.
func parseUUID(text string) (raw [16]byte, ok bool) {
	if len(text) != len(uuidText) || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return raw, false
	}
	var digits [32]byte
	n := 0
	for i := range len(text) {
		switch c := text[i]; {
		case uuidText[i] == '-':
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f':
			digits[n] = c
			n++
		default:
			return raw, false
		}
	}
	_, err := hex.Decode(raw[:], digits[:])
	return raw, err == nil
}

func appendUUID(out []byte, raw []byte) []byte {
	out = hex.AppendEncode(out, raw[0:4])
	for _, part := range [][]byte{raw[4:6], raw[6:8], raw[8:10], raw[10:16]} {
		out = hex.AppendEncode(append(out, '-'), part)
	}
	return out
}

// appendNodes writes the table of node names in the order of first use, then each pod's number in it, 0 meaning none.
func appendNodes(out []byte, pods []model.Pod) []byte {
	number := make(map[string]uint64)
	var table, column []byte
	for i := range pods {
		name := pods[i].NodeName
		if name == "" {
			column = append(column, 0)
			continue
		}
		n, ok := number[name]
		if !ok {
			n = uint64(len(number)) + 1
			number[name] = n
			table = appendText(table, name)
		}
		column = binary.AppendUvarint(column, n)
	}
	out = binary.AppendUvarint(out, uint64(len(number)))
	return append(append(out, table...), column...)
}

func appendOptional(out []byte, pods []model.Pod) []byte {
	before := int64(0)
	for i := range pods {
		out = binary.AppendVarint(out, pods[i].CreatedUnix-before)
		before = pods[i].CreatedUnix
	}
	for i := range pods {
		if p := &pods[i]; p.StartedUnix != 0 {
			out = binary.AppendVarint(out, p.StartedUnix-p.CreatedUnix)
		}
	}
	for i := range pods {
		if p := &pods[i]; p.DeletedUnix != 0 {
			out = binary.AppendVarint(out, p.DeletedUnix-p.CreatedUnix)
		}
	}
	for i := range pods {
		if p := &pods[i]; p.NominatedNode != "" {
			out = appendText(out, p.NominatedNode)
		}
	}
	for i := range pods {
		if p := &pods[i]; len(p.Claims) > 0 {
			out = binary.AppendUvarint(out, uint64(len(p.Claims)))
			for _, claim := range p.Claims {
				out = appendText(out, claim)
			}
		}
	}
	return out
}
