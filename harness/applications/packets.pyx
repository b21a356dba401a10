"""Operators of PacketAnalysis, for Python; native/packet_analysis.hpp and native/capture.hpp
describe each.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.map cimport map as ordered
from libcpp.string cimport string
from libcpp.vector cimport vector

from harness.operators.compiled cimport Compiled, Operator  # no-cython-lint: a base of those below


cdef extern from "event_time.hpp" namespace "millrace::operators" nogil:
    cdef struct Rule "millrace::operators::EventTime::Rule":
        int64_t lateness, jump

cdef extern from "capture.hpp" namespace "millrace::applications" nogil:
    cdef cppclass CapturedPackets "millrace::applications::Capture":
        CapturedPackets(const char* data, size_t size, const Rule& rule) except +
        bool known()
        bool truncated()
        uint64_t broken()
        size_t size()
        ordered[uint32_t, uint64_t] unknown_links()

cdef extern from "domains.hpp" namespace "millrace::applications" nogil:
    cdef struct Place "millrace::applications::Suffixes::Place":
        size_t domain, label_end
    cdef cppclass PublicSuffixes "millrace::applications::Suffixes":
        PublicSuffixes(const vector[string]& rules) except +
        Place of(string) noexcept

cdef extern from "packet_analysis.hpp" namespace "millrace::applications" nogil:
    cdef cppclass PacketsInPieces(Operator):
        PacketsInPieces(const Rule& rule, bool live) except +
        const CapturedPackets& capture()

cdef extern from "packet_analysis.hpp" namespace "millrace::applications" nogil:
    cdef cppclass Packet:
        pass
    cdef cppclass Query:
        pass
    cdef cppclass Label:
        pass
    cdef cppclass Tunnelled:
        pass
    cdef cppclass Alert:
        pass
    cdef cppclass Report:
        pass
    cdef cppclass Tables:
        pass
    cdef cppclass Natural "std::array<uint32_t, 28>":
        uint32_t& operator[](size_t)
    cdef cppclass Weights "std::array<double, 5>":
        double& operator[](size_t)
    cdef cppclass Packets(Operator):
        Packets(const CapturedPackets*, uint32_t share, uint32_t shares, uint64_t cycles) except +
    cdef cppclass VolumeMeter(Operator):
        VolumeMeter(uint32_t channels) except +
    cdef cppclass ParseDns(Operator):
        pass
    cdef cppclass ValidOnly(Operator):
        pass
    cdef cppclass FindDomain(Operator):
        FindDomain(const PublicSuffixes*) except +
    cdef cppclass BlockList(Operator):
        BlockList(const vector[string]& listed, const vector[string]& own) except +
    cdef cppclass LabelsOnly(Operator):
        pass
    cdef cppclass Lexical(Operator):
        Lexical(const Tables*) except +
    cdef cppclass PairScore(Operator):
        PairScore(const Tables*) except +
    cdef cppclass Logistic(Operator):
        Logistic(const Weights&) except +
    cdef cppclass MadeUpOnly(Operator):
        MadeUpOnly(uint32_t way) except +
    cdef cppclass LongOnly(Operator):
        pass
    cdef cppclass SubDomain(Operator):
        pass
    cdef cppclass NamesOfDomain(Operator):
        NamesOfDomain(uint32_t way) except +
    cdef cppclass NoService(Operator):
        NoService(const vector[string]&) except +
    cdef cppclass BusyClients(Operator):
        BusyClients(uint32_t way) except +
    cdef cppclass AskedDomains(Operator):
        AskedDomains(uint32_t way) except +
    cdef cppclass AnswerCodes(Operator):
        AnswerCodes(uint32_t way) except +
    cdef cppclass EmitRates(Operator):
        pass
    cdef cppclass MergeAlerts(Operator):
        MergeAlerts(uint32_t ways) except +
    cdef cppclass RouteAlerts(Operator):
        pass
    cdef cppclass AggregateAlerts(Operator):
        pass
    cdef cppclass Threshold(Operator):
        Threshold(const Natural&) except +
    cdef cppclass FormatAlerts(Operator):
        pass


UNREAD = "of an unknown link type"


cdef class Capture:
    """The packets in the bytes of a file; see native/capture.hpp. `rule`: lateness and jump of time
    [ns].
    """

    cdef CapturedPackets* packets
    cdef bytes data

    def __cinit__(self, bytes data, rule=(3600 * 10**9, 3600 * 10**9)):
        cdef Rule time
        time.lateness, time.jump = rule
        self.data = data
        self.packets = new CapturedPackets(data, len(data), time)

    def __dealloc__(self):
        del self.packets

    @property
    def known(self):
        """True if the file is a capture."""
        return self.packets.known()

    @property
    def truncated(self):
        return self.packets.truncated()

    @property
    def broken(self):
        """Number of unreadable records."""
        return self.packets.broken()

    @property
    def unknown_links(self):
        """Number of packets of each link type that is not read."""
        return dict(self.packets.unknown_links())

    def left_out(self):
        """Return the number of packets of link types that are not read, by name, and 1 for a
        capture that is truncated; a run adds it to its totals.
        """
        return left_out_of(self)

    def examples(self):
        """Return the first link type that is not read."""
        return examples_of(self)

    def __len__(self):
        return self.packets.size()


cdef class CaptureInPieces:
    """A source of the packets of a capture that comes in pieces, and what it has found out when the
    run is over. `live`: it may have pauses.
    """

    cdef readonly Compiled source
    cdef PacketsInPieces* packets

    def __cinit__(self, rule, bool live):
        cdef Rule time
        time.lateness, time.jump = rule
        self.packets = new PacketsInPieces(time, live)
        self.source = Compiled().own(self.packets, None)

    @property
    def known(self):
        """True if the input is a capture."""
        return self.packets.capture().known()

    @property
    def truncated(self):
        return self.packets.capture().truncated()

    @property
    def unknown_links(self):
        """Number of packets of each link type that is not read."""
        return dict(self.packets.capture().unknown_links())

    def left_out(self):
        """Return what a run adds to its totals: see Capture.left_out."""
        return left_out_of(self)

    def examples(self):
        """Return the first link type that is not read."""
        return examples_of(self)


def left_out_of(capture):
    """Return the number of packets of link types that are not read, and 1 for a capture that is
    truncated, by name, where there are any.
    """
    unread = sum(capture.unknown_links.values())
    found = {UNREAD: unread, "truncated": int(capture.truncated)}
    return {name: number for name, number in found.items() if number > 0}


def examples_of(capture):
    """Return an example by the names of `left_out_of`."""
    links = capture.unknown_links
    return {UNREAD: f"link type {min(links)}"} if links else {}


cdef class Model:
    """Logarithms and the likelihood of pairs of classes of letters, in the form that operators
    read.
    """

    cdef Tables* tables

    def __cinit__(self, logarithms, pairs):
        self.tables = new Tables()
        cdef double* at = <double*> self.tables
        for value in (*logarithms, *(each for row in pairs for each in row)):
            at[0] = value
            at += 1

    def __dealloc__(self):
        del self.tables


cdef class Suffixes:
    """Rules of public suffixes, such as com, *.ck and !www.ck (native/domains.hpp)."""

    cdef PublicSuffixes* rules

    def __cinit__(self, rules):
        self.rules = new PublicSuffixes(_encoded(rules))

    def __dealloc__(self):
        del self.rules

    def domain_of(self, str name):
        """Return the registered domain of a name, and the first label of that."""
        cdef bytes encoded = name.encode()
        cdef Place place = self.rules.of(encoded)
        return encoded[place.domain:].decode(), encoded[place.domain : place.label_end].decode()


def _encoded(domains):
    return [domain.encode() for domain in domains]


def source(Capture capture, uint32_t share, uint32_t shares, uint64_t cycles):
    """Return a source of the packets of part `share` of `shares`, by client; `cycles` times (0: for
    ever).
    """
    return Compiled().own(new Packets(capture.packets, share, shares, cycles), capture)


def volume_meter(uint32_t channels):
    return Compiled().own(new VolumeMeter(channels), None)


def parse_dns():
    return Compiled().own(new ParseDns(), None)


def valid_only():
    return Compiled().own(new ValidOnly(), None)


def find_domain(Suffixes suffixes):
    return Compiled().own(new FindDomain(suffixes.rules), suffixes)


def block_list(listed, own):
    return Compiled().own(new BlockList(_encoded(listed), _encoded(own)), None)


def labels_only():
    return Compiled().own(new LabelsOnly(), None)


def lexical(Model model):
    return Compiled().own(new Lexical(model.tables), model)


def pair_score(Model model):
    return Compiled().own(new PairScore(model.tables), model)


def logistic(weights):
    cdef Weights given
    for i, weight in enumerate(weights):
        (&given[i])[0] = weight
    return Compiled().own(new Logistic(given), None)


def made_up_only(uint32_t way):
    return Compiled().own(new MadeUpOnly(way), None)


def long_only():
    return Compiled().own(new LongOnly(), None)


def sub_domain():
    return Compiled().own(new SubDomain(), None)


def names_of_domain(uint32_t way):
    return Compiled().own(new NamesOfDomain(way), None)


def no_service(services):
    return Compiled().own(new NoService(_encoded(services)), None)


def busy_clients(uint32_t way):
    return Compiled().own(new BusyClients(way), None)


def asked_domains(uint32_t way):
    return Compiled().own(new AskedDomains(way), None)


def answer_codes(uint32_t way):
    return Compiled().own(new AnswerCodes(way), None)


def emit_rates():
    return Compiled().own(new EmitRates(), None)


def merge_alerts(uint32_t ways):
    return Compiled().own(new MergeAlerts(ways), None)


def route_alerts():
    return Compiled().own(new RouteAlerts(), None)


def aggregate_alerts():
    return Compiled().own(new AggregateAlerts(), None)


def threshold(natural):
    cdef Natural given
    for i, share in enumerate(natural):
        (&given[i])[0] = share
    return Compiled().own(new Threshold(given), None)


def format_alerts():
    return Compiled().own(new FormatAlerts(), None)


def sizes():
    """Return the bytes of each kind of tuple, by the name of its schema."""
    return {
        "packet": sizeof(Packet),
        "query": sizeof(Query),
        "label": sizeof(Label),
        "tunnelled": sizeof(Tunnelled),
        "alert": sizeof(Alert),
        "report": sizeof(Report),
    }
