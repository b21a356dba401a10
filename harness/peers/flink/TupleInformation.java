import java.io.IOException;
import millrace.Tuple;
import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** A tuple's type, with a serializer of its own: Flink's for any class with public fields goes by reflection. */
public final class TupleInformation extends TypeInformation<Tuple> {
    @Override
    public boolean isBasicType() {
        return false;
    }

    @Override
    public boolean isTupleType() {
        return false;
    }

    @Override
    public int getArity() {
        return 1;
    }

    @Override
    public int getTotalFields() {
        return 1;
    }

    @Override
    public Class<Tuple> getTypeClass() {
        return Tuple.class;
    }

    @Override
    public boolean isKeyType() {
        return false;
    }

    @Override
    public TypeSerializer<Tuple> createSerializer(SerializerConfig config) {
        return new Serializer();
    }

    @Override
    public String toString() {
        return "Tuple";
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof TupleInformation;
    }

    @Override
    public int hashCode() {
        return TupleInformation.class.hashCode();
    }

    @Override
    public boolean canEqual(Object other) {
        return other instanceof TupleInformation;
    }

    /** Public, as Flink makes one by itself. */
    public static final class Serializer extends TypeSerializer<Tuple> {
        @Override
        public boolean isImmutableType() {
            return false;
        }

        @Override
        public TypeSerializer<Tuple> duplicate() {
            return this; // it has no state
        }

        @Override
        public Tuple createInstance() {
            return new Tuple();
        }

        @Override
        public Tuple copy(Tuple from) {
            return copy(from, new Tuple());
        }

        @Override
        public Tuple copy(Tuple from, Tuple to) {
            to.sequence = from.sequence;
            to.born = from.born;
            to.value = from.value;
            to.path = from.path;
            to.payload = from.payload.clone();
            return to;
        }

        @Override
        public int getLength() {
            return -1; // it differs
        }

        @Override
        public void serialize(Tuple tuple, DataOutputView to) throws IOException {
            to.writeLong(tuple.sequence);
            to.writeLong(tuple.born);
            to.writeDouble(tuple.value);
            to.writeInt(tuple.path);
            to.writeInt(tuple.payload.length);
            to.write(tuple.payload);
        }

        @Override
        public Tuple deserialize(DataInputView from) throws IOException {
            return deserialize(new Tuple(), from);
        }

        @Override
        public Tuple deserialize(Tuple to, DataInputView from) throws IOException {
            to.sequence = from.readLong();
            to.born = from.readLong();
            to.value = from.readDouble();
            to.path = from.readInt();
            int bytes = from.readInt();
            if (to.payload == null || to.payload.length != bytes) {
                to.payload = new byte[bytes];
            }
            from.readFully(to.payload);
            return to;
        }

        @Override
        public void copy(DataInputView from, DataOutputView to) throws IOException {
            serialize(deserialize(from), to);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Serializer;
        }

        @Override
        public int hashCode() {
            return Serializer.class.hashCode();
        }

        @Override
        public TypeSerializerSnapshot<Tuple> snapshotConfiguration() {
            return new Snapshot();
        }
    }

    public static final class Snapshot extends SimpleTypeSerializerSnapshot<Tuple> {
        public Snapshot() {
            super(Serializer::new);
        }
    }
}
